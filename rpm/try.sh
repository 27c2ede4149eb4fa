#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Builds the packages of gorgon.spec from the last commit and unpacks them: usage: rpm/try.sh FOLDER. On Debian, too, where
# what has to be there is not known to rpm (--nodeps) and tools/setup.sh installs it.
set -eu
cd "$(dirname "$0")/.."
folder=$(realpath -m "$1")
mkdir -p "$folder/SOURCES" "$folder/root"
make -s dist BUILD="$folder/dist"
mv "$folder"/dist/*.tar.gz "$folder/SOURCES"
rpmbuild -bb --nodeps --define "_topdir $folder" --define 'debug_package %{nil}' rpm/gorgon.spec
for package in "$folder"/RPMS/x86_64/*.rpm; do
	(cd "$folder/root" && rpm2cpio "$package" | cpio --quiet -idm)
done
find "$folder"/RPMS -name '*.rpm' | sort
