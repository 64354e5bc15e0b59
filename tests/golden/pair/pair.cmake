# pair.cmake - written by modc: the library pair. include() it behind find_package(modc), or with MODC_RUNTIME set to
# the folder of modc.h: whoever links the library then compiles the runtime.
add_library(pair STATIC ${CMAKE_CURRENT_LIST_DIR}/pair.c)
target_include_directories(pair PUBLIC ${CMAKE_CURRENT_LIST_DIR})
if(TARGET modc::runtime)
    target_link_libraries(pair PUBLIC modc::runtime)
else()
    target_include_directories(pair PUBLIC ${MODC_RUNTIME})
endif()
