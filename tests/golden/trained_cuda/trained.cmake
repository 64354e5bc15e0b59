# trained.cmake - written by modc: the library trained. include() it behind find_package(modc), or with MODC_RUNTIME set to
# the folder of modc.h: whoever links the library then compiles the runtime.
if(NOT COMMAND modc_target_cuda)
    include(${MODC_RUNTIME}/cuda/modc_cuda.cmake)
endif()
modc_enable_cuda()
add_library(trained STATIC ${CMAKE_CURRENT_LIST_DIR}/trained.c ${CMAKE_CURRENT_LIST_DIR}/trained.cu)
target_include_directories(trained PUBLIC ${CMAKE_CURRENT_LIST_DIR})
if(TARGET modc::runtime)
    target_link_libraries(trained PUBLIC modc::runtime)
else()
    target_include_directories(trained PUBLIC ${MODC_RUNTIME})
endif()
modc_target_cuda(trained)
