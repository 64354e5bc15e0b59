# cnn64.cmake - written by modc: the library cnn64. include() it behind find_package(modc), or with MODC_RUNTIME set to
# the folder of modc.h: whoever links the library then compiles the runtime.
add_library(cnn64 STATIC ${CMAKE_CURRENT_LIST_DIR}/cnn64.c)
target_include_directories(cnn64 PUBLIC ${CMAKE_CURRENT_LIST_DIR})
if(TARGET modc::runtime)
    target_link_libraries(cnn64 PUBLIC modc::runtime)
else()
    target_include_directories(cnn64 PUBLIC ${MODC_RUNTIME})
endif()
