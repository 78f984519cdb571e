# Writes OUTPUT, which includes every C++ file that Verilator made in FOLDER: how many there are, and their names, follow from the Verilog.
file(GLOB sources RELATIVE ${FOLDER} ${FOLDER}/*.cpp)
list(SORT sources)
set(text "")
foreach(source IN LISTS sources)
  string(APPEND text "#include \"${source}\"\n")
endforeach()
file(WRITE ${OUTPUT} "${text}")
