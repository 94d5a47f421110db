# SPDX-License-Identifier: MIT
# libusdt is compiled into the extension: from the copy that a gem has, which is made of the tree's when the gem is built.
require 'fileutils'

tree = File.expand_path('../../lib/usdt', __dir__)
copy = File.expand_path('ext/usdt/libusdt', __dir__)
if Dir.exist?(tree)
  FileUtils.mkdir_p(copy)
  FileUtils.cp(Dir["#{tree}/*.[ch]"], copy)
end

Gem::Specification.new do |s|
  s.name = 'usdt'
  s.version = '0.3.0'
  s.summary = 'DTrace probes of Ruby programs, made at run time, on Linux'
  s.authors = ['Fathom']
  s.license = 'MIT'
  s.required_ruby_version = '>= 2.7'
  s.extensions = ['ext/usdt/extconf.rb']
  s.files = Dir['README.md', 'lib/**/*.rb', 'ext/usdt/*.{c,rb}', 'ext/usdt/libusdt/*.{c,h}', 'test/*.rb']
end
