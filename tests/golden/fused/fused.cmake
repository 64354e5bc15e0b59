# fused.cmake - written by modc: the library fused. include() it behind find_package(modc), or with MODC_RUNTIME set to
# the folder of modc.h: whoever links the library then compiles the runtime.
add_library(fused STATIC ${CMAKE_CURRENT_LIST_DIR}/fused.c)
target_include_directories(fused PUBLIC ${CMAKE_CURRENT_LIST_DIR})
if(TARGET modc::runtime)
    target_link_libraries(fused PUBLIC modc::runtime)
else()
    target_include_directories(fused PUBLIC ${MODC_RUNTIME})
endif()
