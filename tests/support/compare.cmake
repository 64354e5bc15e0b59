# Files compared byte for byte, for the scripts beside.

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
        string(SUBSTRING "${shown}" 0 20000 shown)
        message(SEND_ERROR "${found} is not as expected:\n${shown}")
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
