# cnn64.cmake - written by modc. include() it; MODC_RUNTIME is the folder of modc.h.
add_library(cnn64 STATIC ${CMAKE_CURRENT_LIST_DIR}/cnn64.c)
target_include_directories(cnn64 PUBLIC ${CMAKE_CURRENT_LIST_DIR} ${MODC_RUNTIME})
