# policy.cmake - written by modc. include() it; MODC_RUNTIME is the folder of modc.h.
add_library(policy STATIC ${CMAKE_CURRENT_LIST_DIR}/policy.c)
target_include_directories(policy PUBLIC ${CMAKE_CURRENT_LIST_DIR} ${MODC_RUNTIME})
