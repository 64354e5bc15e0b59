# talker.cmake - written by modc: the library talker. include() it behind find_package(modc), or with MODC_RUNTIME set to
# the folder of modc.h: whoever links the library then compiles the runtime.
add_library(talker STATIC ${CMAKE_CURRENT_LIST_DIR}/talker.c ${CMAKE_CURRENT_LIST_DIR}/talker_template.c)
target_include_directories(talker PUBLIC ${CMAKE_CURRENT_LIST_DIR})
if(TARGET modc::runtime)
    target_link_libraries(talker PUBLIC modc::runtime)
else()
    target_include_directories(talker PUBLIC ${MODC_RUNTIME})
endif()
