# CPack runs this in what becomes a package. Debian wants a changelog, and the terms in a file of its own form.
if(NOT CPACK_GENERATOR STREQUAL "DEB")
    return()
endif()
set(share ${CPACK_TEMPORARY_INSTALL_DIRECTORY}${CPACK_PACKAGING_INSTALL_PREFIX}/share)
set(docs ${share}/doc/${CPACK_PACKAGE_NAME})

string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC) # SOURCE_DATE_EPOCH, where it is set
file(WRITE ${docs}/changelog "${CPACK_PACKAGE_NAME} (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium

  * Release ${CPACK_PACKAGE_VERSION}.

 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")
file(READ ${docs}/NOTICE notice)
string(STRIP "${notice}" notice)
string(REGEX MATCH "Copyright [^\n]+" copyright "${notice}")
string(REPLACE "\n\n" "\n.\n" notice "${notice}")
string(REPLACE "\n" "\n " notice "${notice}")
string(REPLACE "Copyright " "" copyright "${copyright}")
file(WRITE ${docs}/copyright "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: ${CPACK_PACKAGE_NAME}

Files: *
Copyright: ${copyright}
License: Apache-2.0
 ${notice}
 .
 On Debian systems LICENSE is /usr/share/common-licenses/Apache-2.0.
")
file(REMOVE ${docs}/LICENSE ${docs}/NOTICE)
if(EXISTS ${share}/zsh/site-functions)
    file(RENAME ${share}/zsh/site-functions ${share}/zsh/vendor-completions)
endif()
file(GLOB manuals ${share}/man/man1/*.1)
foreach(file ${docs}/changelog ${manuals})
    execute_process(COMMAND gzip -9nf ${file} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
