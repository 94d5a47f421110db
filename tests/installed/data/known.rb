# SPDX-License-Identifier: MIT
def known_here
  Process.ppid
end

def known_outer
  known_here
end

known_outer
until File.exist?("seen")
  sleep 0.005
  known_outer
end
