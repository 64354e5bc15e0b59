# attention.cmake - written by modc: the library attention. include() it behind find_package(modc), or with MODC_RUNTIME set to
# the folder of modc.h: whoever links the library then compiles the runtime.
add_library(attention STATIC ${CMAKE_CURRENT_LIST_DIR}/attention.c)
target_include_directories(attention PUBLIC ${CMAKE_CURRENT_LIST_DIR})
if(TARGET modc::runtime)
    target_link_libraries(attention PUBLIC modc::runtime)
else()
    target_include_directories(attention PUBLIC ${MODC_RUNTIME})
endif()
