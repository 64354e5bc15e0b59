# cnn.cmake - written by modc. include() it; MODC_RUNTIME is the folder of modc.h.
add_library(cnn STATIC ${CMAKE_CURRENT_LIST_DIR}/cnn.c)
target_include_directories(cnn PUBLIC ${CMAKE_CURRENT_LIST_DIR} ${MODC_RUNTIME})
