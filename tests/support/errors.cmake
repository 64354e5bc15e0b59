# Compares what `modc check` says with tests/errors/<case>.err, byte for byte. A case whose exit status is not 1 says so
# in a comment line: `# status: 3`. Specs that only others extend lie in folders below.
#
#     cmake -DMODC=... -DDIR=tests/errors -DWORK=... -DCASE=name     -P errors.cmake
#     cmake -DMODC=... -DDIR=tests/errors -DWORK=... -DCOMPLETE=ON   -P errors.cmake    every spec has its .err
#     cmake -DMODC=... -DDIR=tests/errors -DWORK=... -DUPDATE=ON     -P errors.cmake    writes all .err
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/compare.cmake)

file(GLOB cases RELATIVE ${DIR} ${DIR}/*.yaml)
list(TRANSFORM cases REPLACE "\\.yaml$" "")
file(GLOB expectations RELATIVE ${DIR} ${DIR}/*.err)
list(TRANSFORM expectations REPLACE "\\.err$" "")

# Runs a case; its stderr is in ${WORK}/<case>.err.
function(run case)
    file(STRINGS ${DIR}/${case}.yaml line LIMIT_COUNT 1 REGEX "^# status: [0-9]+$")
    set(expected 1)
    if(line)
        string(REPLACE "# status: " "" expected ${line})
    endif()
    file(MAKE_DIRECTORY ${WORK})
    execute_process(COMMAND ${MODC} check ${case}.yaml WORKING_DIRECTORY ${DIR}
                    RESULT_VARIABLE status OUTPUT_QUIET ERROR_FILE ${WORK}/${case}.err)
    if(NOT status STREQUAL expected)
        file(READ ${WORK}/${case}.err said)
        fault("${case}: exit status ${status}, expected ${expected}" "${said}")
    endif()
endfunction()

if(COMPLETE)
    foreach(case ${cases})
        if(NOT case IN_LIST expectations)
            message(SEND_ERROR "${case}.yaml has no ${case}.err: read what it says, then build the target update-errors")
        endif()
    endforeach()
    foreach(case ${expectations})
        if(NOT case IN_LIST cases)
            message(SEND_ERROR "${case}.err has no ${case}.yaml")
        endif()
    endforeach()
elseif(UPDATE)
    foreach(case ${cases})
        run(${case})
        update_file(${WORK}/${case}.err ${DIR}/${case}.err)
    endforeach()
else()
    run(${CASE})
    compare_files(${DIR}/${CASE}.err ${WORK}/${CASE}.err)
endif()
