# mlp.cmake - written by modc. include() it; MODC_RUNTIME is the folder of modc.h.
add_library(mlp STATIC ${CMAKE_CURRENT_LIST_DIR}/mlp.c)
target_include_directories(mlp PUBLIC ${CMAKE_CURRENT_LIST_DIR} ${MODC_RUNTIME})
