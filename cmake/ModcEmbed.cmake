# modc_embed(OUT): a C file with templates/, runtime/ and the licence as text (generator/base/embedded.h).
function(modc_embed out)
    file(GLOB_RECURSE names CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}
         templates/*.c templates/*.cu templates/*.h templates/*.S templates/*.cmake)
    file(GLOB_RECURSE runtime CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} runtime/*.c runtime/*.cu runtime/*.h
         runtime/*.cmake)
    list(FILTER runtime EXCLUDE REGEX "^runtime/binding/") # which only shared libraries of the Python package have
    list(APPEND names ${runtime} LICENSE NOTICE)
    list(TRANSFORM names PREPEND ${PROJECT_SOURCE_DIR}/ OUTPUT_VARIABLE paths)

    add_executable(modc_embed cmake/embed.c)
    set_target_properties(modc_embed PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/CMakeFiles)
    modc_compile(modc_embed)
    add_custom_command(OUTPUT ${out} DEPENDS modc_embed ${paths} VERBATIM
                       COMMAND modc_embed ${out} ${PROJECT_SOURCE_DIR} ${names}
                       COMMENT "Embedding templates, runtime and licence")
endfunction()
