// Addon for Node: the text of glibc's malloc_info(3), which tells each arena. Without Node's headers: the four
// declarations that it needs are below.
#define _GNU_SOURCE
#include <malloc.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct napi_env__ *napi_env;
typedef struct napi_value__ *napi_value;
typedef struct napi_callback_info__ *napi_callback_info;
typedef napi_value (*napi_callback)(napi_env, napi_callback_info);
extern int napi_create_function(napi_env, const char *, size_t, napi_callback, void *, napi_value *);
extern int napi_create_string_latin1(napi_env, const char *, size_t, napi_value *);

static napi_value read_malloc_info(napi_env env, napi_callback_info info) {
  (void)info;
  char *text = NULL;
  size_t length = 0;
  FILE *stream = open_memstream(&text, &length);
  malloc_info(0, stream);
  fclose(stream);
  napi_value value = NULL;
  napi_create_string_latin1(env, text, length, &value);
  free(text);
  return value;
}

napi_value napi_register_module_v1(napi_env env, napi_value exports) {
  (void)exports;
  napi_value function = NULL;
  napi_create_function(env, "readMallocInfo", 14, read_malloc_info, NULL, &function);
  return function;
}
