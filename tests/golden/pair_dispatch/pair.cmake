# pair.cmake - written by modc: the library pair. include() it behind find_package(modc), or with MODC_RUNTIME set to
# the folder of modc.h: whoever links the library then compiles the runtime.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64)$" AND NOT MSVC)
    set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/pair.c PROPERTIES COMPILE_OPTIONS -march=x86-64)
    set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/pair_x86_64_v3.c PROPERTIES COMPILE_OPTIONS -march=x86-64-v3)
    set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/pair_x86_64_v4.c PROPERTIES COMPILE_OPTIONS -march=x86-64-v4)
endif()
add_library(pair STATIC ${CMAKE_CURRENT_LIST_DIR}/pair.c
            ${CMAKE_CURRENT_LIST_DIR}/pair_x86_64_v3.c
            ${CMAKE_CURRENT_LIST_DIR}/pair_x86_64_v4.c)
target_include_directories(pair PUBLIC ${CMAKE_CURRENT_LIST_DIR})
if(TARGET modc::runtime)
    target_link_libraries(pair PUBLIC modc::runtime)
else()
    target_include_directories(pair PUBLIC ${MODC_RUNTIME})
endif()
