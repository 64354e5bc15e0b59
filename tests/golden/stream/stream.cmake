# stream.cmake - written by modc: the library stream. include() it behind find_package(modc), or with MODC_RUNTIME set to
# the folder of modc.h: whoever links the library then compiles the runtime.
add_library(stream STATIC ${CMAKE_CURRENT_LIST_DIR}/stream.c)
target_include_directories(stream PUBLIC ${CMAKE_CURRENT_LIST_DIR})
if(TARGET modc::runtime)
    target_link_libraries(stream PUBLIC modc::runtime)
else()
    target_include_directories(stream PUBLIC ${MODC_RUNTIME})
endif()
