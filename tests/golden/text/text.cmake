# text.cmake - written by modc. include() it; MODC_RUNTIME is the folder of modc.h.
add_library(text STATIC ${CMAKE_CURRENT_LIST_DIR}/text.c)
target_include_directories(text PUBLIC ${CMAKE_CURRENT_LIST_DIR} ${MODC_RUNTIME})
