# text.cmake - written by modc: the library text. include() it behind find_package(modc), or with MODC_RUNTIME set to
# the folder of modc.h: whoever links the library then compiles the runtime.
add_library(text STATIC ${CMAKE_CURRENT_LIST_DIR}/text.c)
target_include_directories(text PUBLIC ${CMAKE_CURRENT_LIST_DIR})
if(TARGET modc::runtime)
    target_link_libraries(text PUBLIC modc::runtime)
else()
    target_include_directories(text PUBLIC ${MODC_RUNTIME})
endif()
