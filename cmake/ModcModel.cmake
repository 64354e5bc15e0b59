# modc_add_model: a library out of a spec. Comes with find_package(modc), and with modc as a subdirectory.
cmake_minimum_required(VERSION 3.20)

# modc_add_runtime(SOURCES DIR HEADERS DIR): the target modc::runtime, which all models of a build share. It is compiled
# where the models are, with the flags that they have: its structs depend on the user's macros, and machine, LTO and
# sanitizers are the user's to choose. Position-independent, since models may be shared libraries. For models on CUDA there are
# the functions of modc_cuda.cmake behind it.
function(modc_add_runtime)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "SOURCES;HEADERS" "")
    file(GLOB sources ${arg_SOURCES}/modc_*.c)
    if(NOT UNIX)
        list(FILTER sources EXCLUDE REGEX "/modc_((generation_|optim_)?host|queue|threads)\\.c$") # firmware: no files, no malloc, no threads
    endif()
    get_property(shared GLOBAL PROPERTY TARGET_SUPPORTS_SHARED_LIBS)
    add_library(modc_runtime STATIC EXCLUDE_FROM_ALL ${sources})
    add_library(modc::runtime ALIAS modc_runtime)
    target_include_directories(modc_runtime PUBLIC $<BUILD_INTERFACE:${arg_HEADERS}>)
    target_compile_features(modc_runtime PRIVATE c_std_99)
    target_link_libraries(modc_runtime PUBLIC $<$<NOT:$<PLATFORM_ID:Windows>>:m>)
    if(UNIX)
        find_package(Threads REQUIRED)
        target_link_libraries(modc_runtime PUBLIC Threads::Threads)
    endif()
    set_target_properties(modc_runtime PROPERTIES POSITION_INDEPENDENT_CODE ${shared})
    include(${arg_SOURCES}/cuda/modc_cuda.cmake)
endfunction()

# modc_dispatch(VARIABLE PATH): the sources that DISPATCH has beside PATH.c for this processor, each with the flags of its
# instruction set, which come behind those of the project. Some sets are for products of bytes alone. Whether a model has such is
# known when modc has run: where it has none, ModcDispatch.cmake writes files for them in which there is nothing.
function(modc_dispatch variable path)
    set(sources)
    if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64)$" AND NOT MSVC)
        set(sources ${path}_x86_64_v3.c ${path}_x86_64_v3_vnni.c ${path}_x86_64_v4.c ${path}_x86_64_v4_vnni.c)
        set_source_files_properties(${path}.c PROPERTIES COMPILE_OPTIONS -march=x86-64)
        set_source_files_properties(${path}_x86_64_v3.c PROPERTIES COMPILE_OPTIONS -march=x86-64-v3)
        set_source_files_properties(${path}_x86_64_v3_vnni.c PROPERTIES COMPILE_OPTIONS "-march=x86-64-v3;-mavxvnni")
        set_source_files_properties(${path}_x86_64_v4.c PROPERTIES COMPILE_OPTIONS -march=x86-64-v4)
        set_source_files_properties(${path}_x86_64_v4_vnni.c PROPERTIES COMPILE_OPTIONS "-march=x86-64-v4;-mavx512vnni")
    elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64|ARM64)$" AND NOT MSVC)
        set(sources ${path}_aarch64_dotprod.c)
        set_source_files_properties(${path}_aarch64_dotprod.c PROPERTIES COMPILE_OPTIONS -march=armv8.2-a+dotprod)
    endif()
    set(${variable} ${sources} PARENT_SCOPE)
endfunction()

# modc_add_model(NAME SPEC FILE [WEIGHTS FILE [WEIGHTS_AS incbin | c]] [MODEL NAME] [DTYPE TYPE] [DEVICE cpu | cuda]
#                [SET NAME=VALUE...] [OPTIONS OPTION...] [TOKENIZER] [TEMPLATE] [DISPATCH] [STATIC | SHARED | MODULE | OBJECT] [EXCLUDE_FROM_ALL])
#
# A library NAME with the model of a spec, whose header is NAME.h and whose functions are NAME_forward and the like,
# whatever the spec calls the model (MODEL gives them another name than the library has). Who links it can include the
# header. `modc generate` runs when the project is built: again when the spec, what it extends, the weights, the options
# or modc itself change. FILEs are relative to the source directory.
#
#   SPEC      the spec, which may itself be made by the build
#   WEIGHTS   safetensors: become part of the library
#   WEIGHTS_AS  how: taken in by the assembler (incbin), else as an array of C; for MSVC that is what they are
#   DTYPE     what the model computes in, else the first of the spec's; for several types call the function several times
#   DEVICE    what it runs on, whatever the spec says; a model on cuda needs it, and modc_enable_cuda() in front
#   SET       other values for constants of the spec, other maxima for its sizes
#   OPTIONS   further options of `modc generate`
#   TOKENIZER the spec has `tokenizer:`, and the library its tables
#   TEMPLATE  the spec has `template:`, and the library its function
#   DISPATCH  compiled for x86-64, x86-64-v3 and x86-64-v4, whatever -march the project has, and with products of bytes for
#             what VNNI adds to both: each context takes the best that its machine has. On AArch64 such models are compiled
#             once more for its dot products. For other processors nothing is different
#
# The kind of library is BUILD_SHARED_LIBS's, if none is given. modc is the target modc::modc, or MODC_EXECUTABLE.
function(modc_add_model name)
    set(kinds STATIC SHARED MODULE OBJECT)
    cmake_parse_arguments(PARSE_ARGV 1 arg "${kinds};EXCLUDE_FROM_ALL;DISPATCH;TOKENIZER;TEMPLATE" "SPEC;WEIGHTS;WEIGHTS_AS;MODEL;DTYPE;DEVICE"
                          "SET;OPTIONS")
    if(arg_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "modc_add_model(${name}): unknown argument ${arg_UNPARSED_ARGUMENTS}")
    endif()
    if(arg_KEYWORDS_MISSING_VALUES)
        message(FATAL_ERROR "modc_add_model(${name}): ${arg_KEYWORDS_MISSING_VALUES} needs a value")
    endif()
    if(NOT arg_SPEC)
        message(FATAL_ERROR "modc_add_model(${name}): there is no SPEC")
    endif()
    if(NOT TARGET modc::runtime)
        message(FATAL_ERROR "modc_add_model(${name}): models are C: enable that language before find_package(modc)")
    endif()
    foreach(file SPEC WEIGHTS)
        if(arg_${file})
            cmake_path(ABSOLUTE_PATH arg_${file} BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE)
            get_source_file_property(generated ${arg_${file}} GENERATED)
            if(NOT generated AND NOT EXISTS ${arg_${file}})
                message(FATAL_ERROR "modc_add_model(${name}): there is no ${arg_${file}}")
            endif()
        endif()
    endforeach()
    if(arg_DEVICE AND NOT arg_DEVICE MATCHES "^(cpu|cuda)$")
        message(FATAL_ERROR "modc_add_model(${name}): DEVICE is cpu or cuda")
    endif()
    if(arg_DEVICE STREQUAL "cuda" AND arg_DISPATCH)
        message(FATAL_ERROR "modc_add_model(${name}): DISPATCH is for processors, not for DEVICE cuda")
    endif()
    set(kind)
    foreach(one ${kinds} EXCLUDE_FROM_ALL)
        if(arg_${one})
            list(APPEND kind ${one})
        endif()
    endforeach()
    if(NOT arg_MODEL)
        set(arg_MODEL ${name})
    endif()
    if(arg_WEIGHTS_AS)
        if(NOT arg_WEIGHTS OR NOT arg_WEIGHTS_AS MATCHES "^(incbin|c)$")
            message(FATAL_ERROR "modc_add_model(${name}): WEIGHTS_AS is incbin or c, and says how WEIGHTS are taken in")
        endif()
    elseif(MSVC)
        set(arg_WEIGHTS_AS c)
    else()
        set(arg_WEIGHTS_AS incbin)
    endif()

    set(out ${CMAKE_CURRENT_BINARY_DIR}/${name}.modc)
    set(sources ${out}/${arg_MODEL}.c)
    set(assembly)
    set(written) # what runs behind modc
    set(files ${sources} ${out}/${arg_MODEL}.h ${out}/${arg_MODEL}.cmake)
    set(options ${arg_SPEC} --model ${arg_MODEL} -o ${out})
    if(arg_WEIGHTS)
        list(APPEND options --weights ${arg_WEIGHTS} --weights-as ${arg_WEIGHTS_AS})
        if(arg_WEIGHTS_AS STREQUAL "c")
            list(APPEND sources ${out}/${arg_MODEL}_weights.c)
            list(APPEND files ${out}/${arg_MODEL}_weights.c)
        else()
            set(assembly ${out}/${arg_MODEL}_weights.S)
            list(APPEND sources ${assembly})
            list(APPEND files ${assembly} ${out}/${arg_MODEL}_weights.bin)
        endif()
    endif()
    foreach(part TOKENIZER TEMPLATE)
        if(arg_${part})
            string(TOLOWER ${part} ending)
            list(APPEND sources ${out}/${arg_MODEL}_${ending}.c)
            list(APPEND files ${out}/${arg_MODEL}_${ending}.c)
        endif()
    endforeach()
    if(arg_DISPATCH)
        modc_dispatch(dispatched ${out}/${arg_MODEL})
        list(APPEND options --dispatch)
        list(APPEND sources ${dispatched})
        list(APPEND files ${dispatched})
        if(dispatched)
            set(written COMMAND ${CMAKE_COMMAND} -P ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/ModcDispatch.cmake ${out}/${arg_MODEL}
                                ${dispatched})
        endif()
    endif()
    if(arg_DTYPE)
        list(APPEND options --dtype ${arg_DTYPE})
    endif()
    if(arg_DEVICE)
        list(APPEND options --device ${arg_DEVICE})
    endif()
    if(arg_DEVICE STREQUAL "cuda")
        list(APPEND sources ${out}/${arg_MODEL}.cu)
        list(APPEND files ${out}/${arg_MODEL}.cu ${out}/${arg_MODEL}_kernels.h)
    endif()
    if(arg_DEVICE STREQUAL "cuda" AND NOT MODC_CUDA_EMULATE) # flags of its kernels, which the spec decides
        set(flags ${out}/${arg_MODEL}.nvcc)
        list(APPEND files ${flags})
        set(written COMMAND ${CMAKE_COMMAND} -D KERNELS=${out}/${arg_MODEL}.cu -D FLAGS=${flags}
                            -P ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/ModcFlags.cmake)
        set_source_files_properties(${out}/${arg_MODEL}.cu PROPERTIES
            COMPILE_OPTIONS "$<$<CUDA_COMPILER_ID:NVIDIA>:--options-file=${flags}>")
    endif()
    foreach(setting ${arg_SET})
        list(APPEND options --set ${setting})
    endforeach()
    list(APPEND options ${arg_OPTIONS})
    set(architecture) # of OPTIONS --target sm_90
    if(";${arg_OPTIONS}" MATCHES ";--target[=;]sm_([0-9]+)")
        set(architecture ${CMAKE_MATCH_1})
    endif()

    # What modc writes keeps its time where it does not change, so that nothing is compiled again for a comment in the
    # spec: another file says when modc has run. It holds the options, which `make` does not compare by itself.
    set(stamp ${out}/${arg_MODEL}.stamp)
    file(GENERATE OUTPUT ${out}/options.txt CONTENT "modc ${modc_VERSION} ${options}\n")
    cmake_path(RELATIVE_PATH arg_SPEC BASE_DIRECTORY ${CMAKE_SOURCE_DIR} OUTPUT_VARIABLE shown)
    add_custom_command(
        OUTPUT ${stamp} BYPRODUCTS ${files} VERBATIM
        COMMAND modc::modc generate ${options} --depfile ${stamp}.d --deptarget ${stamp}
        ${written}
        COMMAND ${CMAKE_COMMAND} -E touch ${stamp}
        DEPENDS modc::modc ${out}/options.txt ${arg_SPEC} ${arg_WEIGHTS} DEPFILE ${stamp}.d
        COMMENT "Compiling ${shown} to C: ${arg_MODEL}")
    add_custom_target(${name}_modc DEPENDS ${stamp})

    set_source_files_properties(${files} PROPERTIES GENERATED ON)
    if(assembly) # by the C compiler: a function cannot enable the language ASM
        set_source_files_properties(${assembly} PROPERTIES
            LANGUAGE C COMPILE_OPTIONS "-x;assembler-with-cpp")
    endif()
    add_library(${name} ${kind} ${sources})
    add_dependencies(${name} ${name}_modc)
    target_include_directories(${name} PUBLIC $<BUILD_INTERFACE:${out}>)
    target_compile_features(${name} PRIVATE c_std_99)
    target_link_libraries(${name} PUBLIC modc::runtime)
    if(arg_DEVICE STREQUAL "cuda")
        modc_target_cuda(${name} ${architecture})
    else()
        target_compile_definitions(${name} PRIVATE MODC_NO_DEVICE) # see modc_device.h
    endif()
    set_target_properties(${name} PROPERTIES C_VISIBILITY_PRESET default)
endfunction()
