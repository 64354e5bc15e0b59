# modc_cuda.cmake - models on CUDA in a build. Comes with find_package(modc), with modc as a subdirectory, and with
# modc generate --bundle.
#
#   modc_enable_cuda()        the language that kernels are compiled as: CUDA, by a compiler that is found here if the project
#                             names none. Not needed where project() has it
#   modc_target_cuda(TARGET [NUMBER])
#                             the .cu files of a target are compiled as those of models are, and it is linked with
#                             modc::cuda, the part of the runtime that models on CUDA have; for kernels of the user too.
#                             NUMBER: for this architecture alone, 90 of sm_90
#   MODC_CUDA_EMULATE         ON: everything is for this processor, with a stand-in for a GPU, and cuda_runtime.h is the
#                             stand-in's; kernels are C++. check: it looks at what kernels do with memory
#
# Kernels are compiled for CMAKE_CUDA_ARCHITECTURES, as far as they are not too old, where no NUMBER says another. Who links a model needs
# neither language in his own folder.
cmake_minimum_required(VERSION 3.20)
include_guard(GLOBAL)

if(NOT DEFINED MODC_CUDA_EMULATE)
    set(MODC_CUDA_EMULATE OFF CACHE STRING "Models on CUDA run on this processor: ON, OFF, or check for what kernels do")
    set_property(CACHE MODC_CUDA_EMULATE PROPERTY STRINGS OFF ON check)
endif()

if(NOT MODC_CUDA_EMULATE MATCHES "^(check|ON|OFF|on|off|1|0|TRUE|FALSE|YES|NO|)$")
    message(FATAL_ERROR "MODC_CUDA_EMULATE is ON, OFF or check, found ${MODC_CUDA_EMULATE}")
endif()

# A macro: CMake enables languages where it reads a file.
macro(modc_enable_cuda)
    if(MODC_CUDA_EMULATE)
        enable_language(CXX)
    elseif(NOT CMAKE_CUDA_COMPILER_LOADED)
        include(CheckLanguage)
        if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
            find_program(CMAKE_CUDA_COMPILER NAMES nvcc PATHS /usr/local/cuda/bin DOC "CUDA compiler")
            if(NOT CMAKE_CUDA_COMPILER)
                unset(CMAKE_CUDA_COMPILER CACHE)
            endif()
        endif()
        check_language(CUDA)
        if(NOT CMAKE_CUDA_COMPILER)
            message(FATAL_ERROR "models on CUDA need its compiler, and none is found: nvcc, in PATH or /usr/local/cuda/bin, or "
                    "what CMAKE_CUDA_COMPILER or CUDACXX names. With -DMODC_CUDA_EMULATE=ON they run on this processor")
        endif()
        enable_language(CUDA)
    endif()
endmacro()

# What kernels need is a compute capability of 8.0.
function(modc_cuda_architectures variable)
    set(architectures ${CMAKE_CUDA_ARCHITECTURES})
    list(FILTER architectures EXCLUDE REGEX "^[1-7][0-9]([a-z]?)(-|$)")
    if(architectures STREQUAL "") # none, or the oldest that the compiler knows
        set(architectures 80-real 90)
        if(CMAKE_CUDA_COMPILER_ID STREQUAL "NVIDIA" AND CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 11.8)
            set(architectures 80)
        endif()
    endif()
    set(${variable} "${architectures}" PARENT_SCOPE)
endfunction()

# How the .cu files of a target are compiled.
function(modc_cuda_kernels target)
    if(MODC_CUDA_EMULATE)
        get_target_property(kernels ${target} SOURCES)
        list(FILTER kernels INCLUDE REGEX "\\.cu$")
        set(options -x c++ -fno-exceptions)
        if(MODC_CUDA_EMULATE STREQUAL "check")
            list(APPEND options -g -fsanitize=thread,alignment) # which the stand-in answers: no sanitizer is linked
        endif()
        set_source_files_properties(${kernels} PROPERTIES LANGUAGE CXX COMPILE_OPTIONS "${options}")
        target_compile_features(${target} PRIVATE cxx_std_17)
        return()
    endif()
    modc_cuda_architectures(architectures)
    target_compile_features(${target} PRIVATE cuda_std_17)
    set_target_properties(${target} PROPERTIES CUDA_ARCHITECTURES "${architectures}" CUDA_SEPARABLE_COMPILATION OFF)
endfunction()

# The target modc::cuda, which all models of a build share, as they do modc::runtime. Without that, MODC_RUNTIME is the folder of
# modc.h.
function(modc_add_cuda)
    set(here ${CMAKE_CURRENT_FUNCTION_LIST_DIR})
    set(sources ${here}/modc_cuda.c ${here}/modc_cuda_kernels.cu)
    if(MODC_CUDA_EMULATE)
        set(stand_in ${here}/cuda_host) # in a bundle
        if(NOT EXISTS ${stand_in})
            cmake_path(SET stand_in NORMALIZE ${here}/../cuda_host)
        endif()
        file(GLOB more ${stand_in}/*.c)
        list(APPEND sources ${more})
    endif()
    get_property(shared GLOBAL PROPERTY TARGET_SUPPORTS_SHARED_LIBS)
    add_library(modc_cuda STATIC EXCLUDE_FROM_ALL ${sources})
    add_library(modc::cuda ALIAS modc_cuda)
    modc_cuda_kernels(modc_cuda)
    target_compile_features(modc_cuda PRIVATE c_std_11)
    set_target_properties(modc_cuda PROPERTIES POSITION_INDEPENDENT_CODE ${shared})
    if(TARGET modc::runtime)
        target_link_libraries(modc_cuda PUBLIC modc::runtime)
    else()
        target_include_directories(modc_cuda PUBLIC ${MODC_RUNTIME})
    endif()
    find_package(Threads REQUIRED)
    target_link_libraries(modc_cuda PUBLIC Threads::Threads)
    if(MODC_CUDA_EMULATE)
        target_include_directories(modc_cuda PUBLIC $<BUILD_INTERFACE:${stand_in}>)
        target_link_libraries(modc_cuda PUBLIC ${CMAKE_DL_LIBS} m)
        return()
    endif()
    set(cxx ${CMAKE_CUDA_IMPLICIT_LINK_LIBRARIES}) # for programs that CMake links for C
    list(FILTER cxx INCLUDE REGEX "c\\+\\+$")
    find_package(CUDAToolkit REQUIRED)
    target_link_libraries(modc_cuda PUBLIC ${cxx})
    if(CMAKE_CUDA_RUNTIME_LIBRARY STREQUAL "Shared") # the one that CMake itself links
        target_link_libraries(modc_cuda PUBLIC CUDA::cudart)
    else()
        target_link_libraries(modc_cuda PUBLIC CUDA::cudart_static)
    endif()
endfunction()

function(modc_target_cuda target)
    if(MODC_CUDA_EMULATE AND NOT UNIX)
        message(FATAL_ERROR "MODC_CUDA_EMULATE: the stand-in for a GPU needs POSIX")
    endif()
    if(MODC_CUDA_EMULATE)
        set(language CXX)
    else()
        set(language CUDA)
    endif()
    get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
    if(NOT language IN_LIST languages)
        message(FATAL_ERROR "${target} has kernels, which are compiled as ${language}: call modc_enable_cuda() in front of it")
    endif()
    if(NOT TARGET modc::cuda)
        modc_add_cuda()
    endif()
    modc_cuda_kernels(${target})
    target_link_libraries(${target} PUBLIC modc::cuda)
    if(ARGN AND NOT MODC_CUDA_EMULATE)
        set_property(TARGET ${target} PROPERTY CUDA_ARCHITECTURES ${ARGN})
        get_target_property(shared modc_cuda CUDA_ARCHITECTURES) # with others, and has to run there, too
        if(NOT shared MATCHES "(^|;)${ARGN}(-real)?(;|$)")
            set_property(TARGET modc_cuda APPEND PROPERTY CUDA_ARCHITECTURES ${ARGN}-real)
        endif()
    endif()
endfunction()
