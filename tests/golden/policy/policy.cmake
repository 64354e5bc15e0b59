# policy.cmake - written by modc: the library policy. include() it behind find_package(modc), or with MODC_RUNTIME set to
# the folder of modc.h: whoever links the library then compiles the runtime.
add_library(policy STATIC ${CMAKE_CURRENT_LIST_DIR}/policy.c)
target_include_directories(policy PUBLIC ${CMAKE_CURRENT_LIST_DIR})
if(TARGET modc::runtime)
    target_link_libraries(policy PUBLIC modc::runtime)
else()
    target_include_directories(policy PUBLIC ${MODC_RUNTIME})
endif()
