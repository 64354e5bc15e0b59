# tensors.cmake - written by modc. include() it; MODC_RUNTIME is the folder of modc.h.
add_library(tensors STATIC ${CMAKE_CURRENT_LIST_DIR}/tensors.c)
target_include_directories(tensors PUBLIC ${CMAKE_CURRENT_LIST_DIR} ${MODC_RUNTIME})
