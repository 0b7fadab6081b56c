// YAML documents: the one file that imports the package. Values, and places in the text for faults.
export { type Document, isScalar, LineCounter, parseDocument } from "yaml";
