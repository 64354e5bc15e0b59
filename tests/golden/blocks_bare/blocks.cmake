# blocks.cmake - written by modc. include() it; MODC_RUNTIME is the folder of modc.h.
add_library(blocks STATIC ${CMAKE_CURRENT_LIST_DIR}/blocks.c)
target_include_directories(blocks PUBLIC ${CMAKE_CURRENT_LIST_DIR} ${MODC_RUNTIME})
