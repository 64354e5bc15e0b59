# stream.cmake - written by modc. include() it; MODC_RUNTIME is the folder of modc.h.
add_library(stream STATIC ${CMAKE_CURRENT_LIST_DIR}/stream.c)
target_include_directories(stream PUBLIC ${CMAKE_CURRENT_LIST_DIR} ${MODC_RUNTIME})
