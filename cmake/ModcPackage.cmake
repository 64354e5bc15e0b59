# Packages by CPack, from what is installed: cpack -G DEB, cpack -G TGZ.

set(CPACK_PACKAGE_NAME modc)
set(CPACK_PACKAGE_VENDOR "the modc authors")
set(CPACK_PACKAGE_CONTACT "the modc authors <modc@localhost>" CACHE STRING "Maintainer of packages: NAME <ADDRESS>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "compiler of neural networks to standalone C")
set(CPACK_PACKAGE_DESCRIPTION "modc reads a YAML spec of a torch.nn module tree and writes C for this one
model: constant shapes, fused kernels, no allocation, PyTorch's numbers and
its state_dict. The package has the command, the small runtime that emitted
code is linked with (as a library and as sources), packages for CMake and
pkg-config, documentation and examples.")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_RESOURCE_FILE_README ${PROJECT_SOURCE_DIR}/README.md)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE) # whatever umask says
set(CPACK_VERBATIM_VARIABLES ON)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON) # libc6 and libyaml-0-2, in the versions that modc needs
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "gcc | c-compiler") # modc run compiles
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "cmake, pkg-config, g++ | c++-compiler, nvidia-cuda-toolkit") # the last for models on CUDA
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/debian.cmake)
include(CPack)
