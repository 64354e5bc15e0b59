# tied.cmake - written by modc. include() it; MODC_RUNTIME is the folder of modc.h.
add_library(tied STATIC ${CMAKE_CURRENT_LIST_DIR}/tied.c)
target_include_directories(tied PUBLIC ${CMAKE_CURRENT_LIST_DIR} ${MODC_RUNTIME})
