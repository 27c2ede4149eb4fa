// SPDX-License-Identifier: MIT
// A table of the C++ library with copies of texts, as extensions fill at their import: memory that
// operator new and strdup() give.

#include <cstring>
#include <string>
#include <unordered_map>

namespace
{
std::unordered_map<std::string, char *> *registry;
} // namespace

extern "C" {

void registry_add(const char *name, const char *text)
{
	if (!registry)
		registry = new std::unordered_map<std::string, char *>;
	(*registry)[name] = strdup(text);
}

const char *registry_find(const char *name)
{
	auto found = registry->find(name);

	return found == registry->end() ? nullptr : found->second;
}

void registry_remove(const char *name)
{
	auto found = registry->find(name);

	free(found->second);
	registry->erase(found);
}
}
