# What is installed, and where: the command with its manual page and what shells complete it by, the runtime as a library,
# as headers and as sources, the packages for CMake and pkg-config (both know their files relative to themselves), licence,
# documentation, examples. Sources over the CUDA toolkit lie in a folder below the others, which so can all be compiled; the
# stand-in for a GPU has one with its header, which takes the place of the toolkit's where the folder is searched.
include(CMakePackageConfigHelpers)
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME modc) # what a wheel has; the other component is doc

set(modc_include ${CMAKE_INSTALL_INCLUDEDIR}/modc)
set(modc_runtime ${CMAKE_INSTALL_DATADIR}/modc/runtime)
set(modc_package ${CMAKE_INSTALL_DATADIR}/cmake/modc) # of no architecture: the runtime is there as sources
set(modc_pkgconfig ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

install(TARGETS modc modc_runtime)
install(DIRECTORY runtime/ DESTINATION ${modc_include} FILES_MATCHING PATTERN "*.h" PATTERN driver EXCLUDE
        PATTERN cuda EXCLUDE PATTERN cuda_host EXCLUDE)
install(DIRECTORY runtime/ DESTINATION ${modc_runtime} FILES_MATCHING PATTERN "*.c" PATTERN "*.cu" PATTERN "*.cmake"
        PATTERN driver EXCLUDE PATTERN cuda_host EXCLUDE)
install(DIRECTORY runtime/cuda_host DESTINATION ${modc_runtime})

# modc_install_printed(FILE DESTINATION WORDS...): what modc prints when it is asked so.
function(modc_install_printed file destination)
    set(path ${PROJECT_BINARY_DIR}/printed/${file})
    add_custom_command(OUTPUT ${path} COMMAND modc ${ARGN} > ${path} DEPENDS modc)
    set_property(TARGET modc_printed APPEND PROPERTY SOURCES ${path})
    install(FILES ${path} DESTINATION ${destination})
endfunction()

if(NOT CMAKE_CROSSCOMPILING)
    file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/printed)
    add_custom_target(modc_printed ALL)
    modc_install_printed(modc.1 ${CMAKE_INSTALL_MANDIR}/man1 help --man)
    modc_install_printed(modc ${CMAKE_INSTALL_DATADIR}/bash-completion/completions completion bash)
    modc_install_printed(_modc ${CMAKE_INSTALL_DATADIR}/zsh/site-functions completion zsh)
    modc_install_printed(modc.fish ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d completion fish)
endif()

configure_package_config_file(cmake/modcConfig.cmake.in ${PROJECT_BINARY_DIR}/modcConfig.cmake
                              INSTALL_DESTINATION ${modc_package} NO_CHECK_REQUIRED_COMPONENTS_MACRO
                              PATH_VARS CMAKE_INSTALL_BINDIR modc_runtime modc_include)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/modcConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES ${PROJECT_BINARY_DIR}/modcConfig.cmake ${PROJECT_BINARY_DIR}/modcConfigVersion.cmake
              cmake/ModcModel.cmake cmake/ModcFlags.cmake cmake/ModcDispatch.cmake
        DESTINATION ${modc_package})

function(modc_pkgconfig)
    set(directories bin ${CMAKE_INSTALL_BINDIR} include ${modc_include} lib ${CMAKE_INSTALL_LIBDIR} runtime ${modc_runtime})
    set(here ${modc_pkgconfig})
    cmake_path(ABSOLUTE_PATH here BASE_DIRECTORY ${CMAKE_INSTALL_PREFIX} NORMALIZE)
    set(up ${CMAKE_INSTALL_PREFIX})
    cmake_path(RELATIVE_PATH up BASE_DIRECTORY ${here})
    while(directories)
        list(POP_FRONT directories name directory)
        set(${name}dir "\${prefix}")
        cmake_path(APPEND ${name}dir ${directory}) # an absolute one stays as it is
    endwhile()
    configure_file(cmake/modc.pc.in ${PROJECT_BINARY_DIR}/modc.pc @ONLY)
endfunction()

modc_pkgconfig()
install(FILES ${PROJECT_BINARY_DIR}/modc.pc DESTINATION ${modc_pkgconfig})

install(FILES specs/modc.schema.json DESTINATION ${CMAKE_INSTALL_DATADIR}/modc)
install(FILES LICENSE NOTICE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT doc)
install(DIRECTORY docs specs examples DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT doc
        PATTERN "*.py" EXCLUDE PATTERN build EXCLUDE)
include(ModcPackage)
