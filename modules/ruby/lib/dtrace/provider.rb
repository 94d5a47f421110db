# SPDX-License-Identifier: MIT
# The interface of ruby-dtrace for providers: probes that take a block, which runs only while somebody traces them.
#
#     DTrace::Provider.create :shop do |p|
#       p.probe :sale, :string, :integer
#     end
#     DTrace::Probe::Shop.sale { |p| p.fire('tea', 4) }
require 'usdt'

module DTrace
  # DTrace::Probe::NAME has a method for each probe of the provider NAME.
  module Probe
  end

  class Provider
    # The module in the probes' descriptions is given as module: 'name'.
    def self.create(name, options = {})
      provider = new(name, options)
      yield provider
      provider.enable
      provider
    end

    def initialize(name, options = {})
      @name = name.to_s
      @provider = USDT::Provider.create(@name, (options[:module] || @name).to_s)
      @probes = {}
    end

    # probe :name, :string, :integer, or with the function's name: probe :name, { function: 'sell' }, :string
    def probe(name, *types)
      options = types.first.is_a?(Hash) ? types.shift : {}
      @probes[name.to_sym] = @provider.probe((options[:function] || name).to_s, name.to_s, *types)
    end

    # Makes the probes visible, and the methods of DTrace::Probe::NAME.
    def enable
      @provider.enable
      methods = Module.new
      @probes.each do |name, probe|
        methods.define_singleton_method(name) { |&block| block.call(probe) if probe.enabled? }
        methods.define_singleton_method("#{name}_enabled?") { probe.enabled? }
      end
      constant = @name.split(/[^A-Za-z0-9]+/).map(&:capitalize).join
      Probe.send(:remove_const, constant) if Probe.const_defined?(constant, false)
      Probe.const_set(constant, methods)
    end

    def disable
      @provider.disable
    end
  end
end

Dtrace = DTrace unless defined?(Dtrace)
