-- Runs the functions of examples/gateways/kong.yaml under LuaJIT with stand-ins for Kong's plugin
-- functions and for resty.http. Lines of fields between tabs: a request comes in, the question to
-- TrustRank goes out and its answer comes in, and what Kong would do goes out.
-- Arguments: the file with the function of the access phase, and of the header_filter phase.
local function read(path)
  local file = assert(io.open(path))
  local text = file:read("*a")
  file:close()
  return text
end

local function say(...)
  io.write(table.concat({ ... }, "\t"), "\n")
  io.flush()
end

local function hear()
  local line = io.read("*l")
  if line == nil then os.exit(0) end
  local fields = {}
  for field in (line .. "\t"):gmatch("([^\t]*)\t") do fields[#fields + 1] = field end
  return fields
end

-- Header names in any case, as Kong's and resty.http's tables take them.
local function headers_of(fields, from)
  local headers = setmetatable({}, {
    __index = function(table, name) return rawget(table, name:lower()) end,
  })
  for at = from, #fields, 2 do rawset(headers, fields[at]:lower(), fields[at + 1]) end
  return headers
end

local function pairs_of(headers)
  local fields = {}
  for name, value in pairs(headers or {}) do
    fields[#fields + 1] = name
    fields[#fields + 1] = value
  end
  return unpack(fields)
end

local client = {}
function client:set_timeouts(...) self.timeouts = table.concat({ ... }, ",") end
function client:request_uri(url, options)
  assert(options.body == nil)
  say("ask", self.timeouts, options.method, url, pairs_of(options.headers))
  local fields = hear()
  if fields[1] == "none" then return nil, "timeout" end
  return { status = tonumber(fields[1]), body = fields[2], headers = headers_of(fields, 3) }
end

local request -- method, route tags, consumer, upstream headers
local function exit(status, body, headers) error({ status = status, headers = headers }) end
local kong = {
  router = { get_route = function() return { tags = request.tags } end },
  request = {
    get_method = function() return request.method end,
    get_headers = function() return request.headers end,
  },
  client = { get_consumer = function() return request.consumer end },
  service = {
    request = {
      set_header = function(name, value) request.headers[name:lower()] = value end,
      clear_header = function(name) request.headers[name:lower()] = nil end,
    },
  },
  response = {
    exit = exit,
    set_header = function(name, value) request.answered[name] = value end,
  },
  log = { warn = function(...) request.logged = table.concat({ ... }) end },
}

-- What Kong's sandbox gives a function, with `resty.http` allowed.
local sandbox = { kong = kong, ipairs = ipairs, pairs = pairs, tostring = tostring }
function sandbox.require(name)
  assert(name == "resty.http", name)
  return { new = function() return setmetatable({}, { __index = client }) end }
end

local function load_function(path)
  return setfenv(assert(loadstring(read(path))), sandbox)()
end
local access, header_filter = load_function(arg[1]), load_function(arg[2])

while true do
  local fields = hear()
  request = { method = fields[1], tags = {}, answered = {}, headers = headers_of(fields, 4) }
  if fields[2] ~= "" then request.tags = { "other", fields[2] } end
  if fields[3] ~= "" then request.consumer = { custom_id = fields[3] } end
  kong.ctx = { shared = {} }
  local went_on, fault = pcall(access)
  if went_on then
    header_filter()
    say("headers", pairs_of(request.headers))
    say("pass", "200", request.logged or "", pairs_of(request.answered))
  else
    if type(fault) ~= "table" then error(fault) end
    say("headers")
    say("stop", tostring(fault.status), request.logged or "", pairs_of(fault.headers))
  end
end
