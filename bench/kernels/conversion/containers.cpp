// SPDX-License-Identifier: Apache-2.0
//
// A small program with much debug information: templates of the standard library.
#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <regex>
#include <string>
#include <unordered_map>
#include <vector>

struct Mesh {
    std::vector<double> cells = std::vector<double>(200000);
    std::map<std::string, std::vector<int>> groups;
};

int main() {
    Mesh mesh;
    for (int i = 0; i < 300; ++i) {
        mesh.groups["g" + std::to_string(i)].assign(i * 10, i);
    }
    const std::regex name("g([0-9]+)");
    std::smatch match;
    int sum = 0;
    for (const auto& [key, members] : mesh.groups) {
        if (std::regex_match(key, match, name)) sum += std::stoi(match[1]);
    }
    std::unordered_map<int, std::shared_ptr<std::string>> texts;
    for (int i = 0; i < 2000; ++i) {
        texts[i] = std::make_shared<std::string>(std::to_string(i) + std::string(40, 'x'));
    }
    std::sort(mesh.cells.begin(), mesh.cells.end());
    std::cout << sum << ' ' << texts.size() << '\n';
}
