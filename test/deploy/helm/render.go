// Renders a chart's templates as Helm does: Go's text/template with Sprig and Helm's own few functions.
// JSON in (templates by name, the context), JSON out (texts by name). Built from Debian's packages
// golang-go and golang-github-masterminds-sprig-dev: GO111MODULE=off GOPATH=/usr/share/gocode.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sort"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig"
)

type input struct {
	Templates map[string]string
	Context   map[string]interface{}
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// One entry a line, so that it can stand below others; what is inside of one is JSON, which is YAML.
func toYaml(value interface{}) (string, error) {
	var lines []string
	var err error
	add := func(head string, each interface{}) {
		text, failed := json.Marshal(each)
		if failed != nil {
			err = failed
		}
		lines = append(lines, head+string(text))
	}
	switch all := value.(type) {
	case map[string]interface{}:
		for _, name := range sortedNames(all) {
			add(name+": ", all[name])
		}
	case []interface{}:
		for _, each := range all {
			add("- ", each)
		}
	}
	if len(lines) == 0 {
		add("", value)
	}
	return strings.Join(lines, "\n"), err
}

func sortedNames(all map[string]interface{}) []string {
	names := make([]string, 0, len(all))
	for name := range all {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

func run() error {
	var given input
	decoder := json.NewDecoder(os.Stdin)
	if err := decoder.Decode(&given); err != nil {
		return err
	}
	all := template.New("chart").Option("missingkey=zero")
	functions := sprig.TxtFuncMap()
	// Neither is there in Helm: what is rendered must not depend on the machine.
	delete(functions, "env")
	delete(functions, "expandenv")
	functions["include"] = func(name string, data interface{}) (string, error) {
		var text bytes.Buffer
		err := all.ExecuteTemplate(&text, name, data)
		return text.String(), err
	}
	functions["required"] = func(message string, value interface{}) (interface{}, error) {
		if value == nil || value == "" {
			return nil, errors.New(message)
		}
		return value, nil
	}
	functions["toYaml"] = toYaml
	all.Funcs(functions)
	for name, text := range given.Templates {
		if _, err := all.New(name).Parse(text); err != nil {
			return err
		}
	}
	rendered := map[string]string{}
	for name := range given.Templates {
		if strings.HasPrefix(name, "_") {
			continue
		}
		var text bytes.Buffer
		if err := all.ExecuteTemplate(&text, name, given.Context); err != nil {
			return err
		}
		// What a key that is not there leaves; Helm removes it, too, and so hides the mistake.
		if strings.Contains(text.String(), "<no value>") {
			return fmt.Errorf("%s uses a value that is not there", name)
		}
		rendered[name] = text.String()
	}
	return json.NewEncoder(os.Stdout).Encode(rendered)
}
