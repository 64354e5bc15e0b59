# How C of this repository is compiled.

set(MODC_WARNINGS -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wvla)
set(MODC_CXX_WARNINGS -Wall -Wextra -Wpedantic -Wshadow -Wconversion)

# modc_compile(TARGET [FURTHER WARNINGS...])
function(modc_compile target)
    # Assertions stay in releases: a wrong compiler shall stop, not emit.
    target_compile_options(${target} PRIVATE -UNDEBUG ${MODC_WARNINGS} ${ARGN})
    if(MODC_WERROR AND NOT MODC_SANITIZE) # what sanitizers insert makes gcc warn of what cannot happen
        target_compile_options(${target} PRIVATE -Werror)
    endif()
    if(MODC_SANITIZE)
        set(sanitize -fsanitize=${MODC_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
        target_compile_options(${target} PRIVATE ${sanitize})
        target_link_options(${target} PUBLIC ${sanitize})
    endif()
endfunction()
