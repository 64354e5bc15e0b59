# firmware.cmake - written by modc. include() it; MODC_RUNTIME is the folder of modc.h.
add_library(firmware STATIC ${CMAKE_CURRENT_LIST_DIR}/firmware.c)
target_include_directories(firmware PUBLIC ${CMAKE_CURRENT_LIST_DIR} ${MODC_RUNTIME})
