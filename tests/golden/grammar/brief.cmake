# brief.cmake - written by modc: the library brief. include() it behind find_package(modc), or with MODC_RUNTIME set to
# the folder of modc.h: whoever links the library then compiles the runtime.
add_library(brief STATIC ${CMAKE_CURRENT_LIST_DIR}/brief.c ${CMAKE_CURRENT_LIST_DIR}/brief_tokenizer.c)
target_include_directories(brief PUBLIC ${CMAKE_CURRENT_LIST_DIR})
if(TARGET modc::runtime)
    target_link_libraries(brief PUBLIC modc::runtime)
else()
    target_include_directories(brief PUBLIC ${MODC_RUNTIME})
endif()
