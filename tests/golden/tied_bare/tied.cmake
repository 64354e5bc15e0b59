# tied.cmake - written by modc: the library tied. include() it behind find_package(modc), or with MODC_RUNTIME set to
# the folder of modc.h: whoever links the library then compiles the runtime.
add_library(tied STATIC ${CMAKE_CURRENT_LIST_DIR}/tied.c)
target_include_directories(tied PUBLIC ${CMAKE_CURRENT_LIST_DIR})
if(TARGET modc::runtime)
    target_link_libraries(tied PUBLIC modc::runtime)
else()
    target_include_directories(tied PUBLIC ${MODC_RUNTIME})
endif()
