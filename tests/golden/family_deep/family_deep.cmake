# family_deep.cmake - written by modc: the library family_deep. include() it behind find_package(modc), or with MODC_RUNTIME set to
# the folder of modc.h: whoever links the library then compiles the runtime.
add_library(family_deep STATIC ${CMAKE_CURRENT_LIST_DIR}/family_deep.c)
target_include_directories(family_deep PUBLIC ${CMAKE_CURRENT_LIST_DIR})
if(TARGET modc::runtime)
    target_link_libraries(family_deep PUBLIC modc::runtime)
else()
    target_include_directories(family_deep PUBLIC ${MODC_RUNTIME})
endif()
