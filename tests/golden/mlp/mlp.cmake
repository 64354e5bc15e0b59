# mlp.cmake - written by modc: the library mlp. include() it behind find_package(modc), or with MODC_RUNTIME set to
# the folder of modc.h: whoever links the library then compiles the runtime.
add_library(mlp STATIC ${CMAKE_CURRENT_LIST_DIR}/mlp.c)
target_include_directories(mlp PUBLIC ${CMAKE_CURRENT_LIST_DIR})
if(TARGET modc::runtime)
    target_link_libraries(mlp PUBLIC modc::runtime)
else()
    target_include_directories(mlp PUBLIC ${MODC_RUNTIME})
endif()
