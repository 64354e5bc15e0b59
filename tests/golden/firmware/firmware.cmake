# firmware.cmake - written by modc: the library firmware. include() it behind find_package(modc), or with MODC_RUNTIME set to
# the folder of modc.h: whoever links the library then compiles the runtime.
add_library(firmware STATIC ${CMAKE_CURRENT_LIST_DIR}/firmware.c)
target_include_directories(firmware PUBLIC ${CMAKE_CURRENT_LIST_DIR})
if(TARGET modc::runtime)
    target_link_libraries(firmware PUBLIC modc::runtime)
else()
    target_include_directories(firmware PUBLIC ${MODC_RUNTIME})
endif()
