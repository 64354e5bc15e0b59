# cnn.cmake - written by modc: the library cnn. include() it behind find_package(modc), or with MODC_RUNTIME set to
# the folder of modc.h: whoever links the library then compiles the runtime.
add_library(cnn STATIC ${CMAKE_CURRENT_LIST_DIR}/cnn.c)
target_include_directories(cnn PUBLIC ${CMAKE_CURRENT_LIST_DIR})
if(TARGET modc::runtime)
    target_link_libraries(cnn PUBLIC modc::runtime)
else()
    target_include_directories(cnn PUBLIC ${MODC_RUNTIME})
endif()
