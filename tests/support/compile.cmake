# Generates a spec and compiles what came out: every .c with every compiler, the headers also as C++.
#
#     cmake -DMODC=... -DSPEC=... -DROOT=. -DWORK=... -DCOMPILERS=A,B -DWARNINGS=-Wall,...
#           -DCXX=... -DCXX_WARNINGS=... -P compile.cmake
cmake_minimum_required(VERSION 3.25)

foreach(list COMPILERS WARNINGS CXX_WARNINGS)
    string(REPLACE "," ";" ${list} "${${list}}")
endforeach()

function(run)
    execute_process(COMMAND ${ARGV} WORKING_DIRECTORY ${ROOT} RESULT_VARIABLE status
                    OUTPUT_VARIABLE said ERROR_VARIABLE said)
    if(status)
        string(SUBSTRING "${said}" 0 20000 said)
        list(JOIN ARGV " " command)
        message(FATAL_ERROR "exit status ${status}: ${command}\n${said}")
    endif()
endfunction()

file(REMOVE_RECURSE ${WORK})
run(${MODC} generate ${SPEC} -o ${WORK})
file(GLOB sources ${WORK}/*.c)
file(GLOB headers ${WORK}/*.h)
if(NOT sources OR NOT headers)
    message(FATAL_ERROR "${SPEC}: no .c, or no .h, was written")
endif()
set(strict -Werror -I${WORK} -Iruntime)
foreach(compiler ${COMPILERS})
    foreach(source ${sources})
        foreach(optimise -O0 -O2)
            run(${compiler} -std=c99 ${WARNINGS} -Wconversion ${strict} ${optimise} -c -o ${WORK}/out.o ${source})
        endforeach()
    endforeach()
    foreach(header ${headers})
        run(${compiler} -std=c99 ${WARNINGS} -Wconversion ${strict} -fsyntax-only -x c ${header})
    endforeach()
endforeach()
if(CXX)
    foreach(header ${headers})
        run(${CXX} -std=c++17 ${CXX_WARNINGS} ${strict} -fsyntax-only -x c++ ${header})
    endforeach()
endif()
