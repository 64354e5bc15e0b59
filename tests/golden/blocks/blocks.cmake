# blocks.cmake - written by modc: the library blocks. include() it behind find_package(modc), or with MODC_RUNTIME set to
# the folder of modc.h: whoever links the library then compiles the runtime.
add_library(blocks STATIC ${CMAKE_CURRENT_LIST_DIR}/blocks.c)
target_include_directories(blocks PUBLIC ${CMAKE_CURRENT_LIST_DIR})
if(TARGET modc::runtime)
    target_link_libraries(blocks PUBLIC modc::runtime)
else()
    target_include_directories(blocks PUBLIC ${MODC_RUNTIME})
endif()
