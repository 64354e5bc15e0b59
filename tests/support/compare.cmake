# Files compared byte for byte, for the scripts beside.

# A fault of the test: what was said stands above the error, since message() would wrap it.
function(fault title said)
    string(SUBSTRING "${said}" 0 20000 said)
    message(NOTICE "${said}")
    message(SEND_ERROR "${title}")
endfunction()

# Fails, and shows the difference.
function(compare_files expected found)
    if(NOT EXISTS ${expected})
        message(SEND_ERROR "${expected} is missing")
        return()
    endif()
    execute_process(COMMAND ${CMAKE_COMMAND} -E compare_files ${expected} ${found} RESULT_VARIABLE differ
                    OUTPUT_QUIET ERROR_QUIET)
    if(differ)
        execute_process(COMMAND diff -u ${expected} ${found} OUTPUT_VARIABLE shown ERROR_VARIABLE shown)
        fault("${found} is not as expected" "${shown}")
    endif()
endfunction()

# Copies where it differs, and says so.
function(update_file from to)
    execute_process(COMMAND ${CMAKE_COMMAND} -E compare_files ${from} ${to} RESULT_VARIABLE differ
                    OUTPUT_QUIET ERROR_QUIET)
    if(differ)
        file(COPY_FILE ${from} ${to})
        message(STATUS "wrote ${to}")
    endif()
endfunction()
