# tensors.cmake - written by modc: the library tensors. include() it behind find_package(modc), or with MODC_RUNTIME set to
# the folder of modc.h: whoever links the library then compiles the runtime.
add_library(tensors STATIC ${CMAKE_CURRENT_LIST_DIR}/tensors.c)
target_include_directories(tensors PUBLIC ${CMAKE_CURRENT_LIST_DIR})
if(TARGET modc::runtime)
    target_link_libraries(tensors PUBLIC modc::runtime)
else()
    target_include_directories(tensors PUBLIC ${MODC_RUNTIME})
endif()
