# Writes OUTPUT, which defines `const char* FUNCTION()` in NAMESPACE, declared by HEADER: the text of INPUT.
file(READ ${INPUT} text)
file(WRITE ${OUTPUT} "#include \"${HEADER}\"\n\nnamespace ${NAMESPACE} {\nconst char* ${FUNCTION}() {\n  return R\"__text__(")
file(APPEND ${OUTPUT} "${text}")
file(APPEND ${OUTPUT} ")__text__\";\n}\n}  // namespace ${NAMESPACE}\n")
