# small.cmake - written by modc: the library small. include() it behind find_package(modc), or with MODC_RUNTIME set to
# the folder of modc.h: whoever links the library then compiles the runtime.
add_library(small STATIC ${CMAKE_CURRENT_LIST_DIR}/small.c ${CMAKE_CURRENT_LIST_DIR}/small_tokenizer.c)
target_include_directories(small PUBLIC ${CMAKE_CURRENT_LIST_DIR})
if(TARGET modc::runtime)
    target_link_libraries(small PUBLIC modc::runtime)
else()
    target_include_directories(small PUBLIC ${MODC_RUNTIME})
endif()
