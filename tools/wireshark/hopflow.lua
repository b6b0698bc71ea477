-- Wireshark and tshark: hopflow's frames (docs/spec/wire.md) in captures of simulations, and in those
-- that real nodes write themselves (docs/traces.md).
--
--   wireshark -X lua_script:tools/wireshark/hopflow.lua -o tcp.reassemble_out_of_order:TRUE relay.pcapng
--
-- In simulations links have ports from 20000 to 59999, nothing is encrypted, and relay headers can be
-- read. Real nodes write frames after decryption, whatever carries them, as UDP with port 60000 (links by
-- datagrams) or 60001 (by TCP): where a cell or set-up message has its payload, these have only its length.
-- What a real node sends to its neighbours is DTLS or TLS, which this does not read.

local hopflow = Proto("hopflow", "hopflow")

local TYPES = {
  [3] = "cell", [4] = "destroy", [12] = "feedback", [13] = "probe", [14] = "set-up", [15] = "message",
  [16] = "selective feedback",
}
local COMMANDS = {
  [1] = "begin", [2] = "data", [3] = "end", [5] = "sendme", [24] = "numbered data",
  [25] = "numbered end", [26] = "reset", [27] = "acknowledgement", [28] = "question",
  [29] = "switch", [30] = "switch to here", [31] = "switch acknowledged", [43] = "xoff", [44] = "xon",
}
local NUMBERED = { [24] = true, [25] = true, [27] = true }
local REASONS = {
  [0] = "requested", [1] = "protocol", [2] = "excess", [3] = "unknown", [4] = "unreachable",
  [255] = "other",
}
local SENDERS = { [0] = "predecessor", [1] = "successor" }

local f = {
  circuit = ProtoField.uint16("hopflow.circuit", "Circuit"),
  type = ProtoField.uint8("hopflow.type", "Type", base.DEC, TYPES),
  flags = ProtoField.uint8("hopflow.flags", "Flags", base.HEX),
  seq = ProtoField.uint32("hopflow.seq", "Sequence number"),
  stream = ProtoField.uint16("hopflow.stream", "Stream"),
  digest = ProtoField.bytes("hopflow.digest", "Digest"),
  length = ProtoField.uint16("hopflow.length", "Length of data"),
  command = ProtoField.uint8("hopflow.command", "Relay command", base.DEC, COMMANDS),
  number = ProtoField.uint32("hopflow.number", "Number in stream"),
  data = ProtoField.bytes("hopflow.data", "Data"),
  has_word = ProtoField.bool("hopflow.feedback.has_word", "Extension word", 8, nil, 0x80),
  padded = ProtoField.bool("hopflow.feedback.padded", "Padded", 8, nil, 0x40),
  out_of_order = ProtoField.uint8("hopflow.out_of_order", "Out of order", base.DEC, nil, 0x3f),
  ack = ProtoField.uint32("hopflow.ack", "Next cell expected"),
  fwd = ProtoField.uint32("hopflow.fwd", "Next cell to be forwarded"),
  word = ProtoField.uint16("hopflow.word", "Extension word", base.HEX),
  arrived = ProtoField.string("hopflow.arrived", "Has arrived beyond a gap"),
  reason = ProtoField.uint8("hopflow.reason", "Reason", base.DEC, REASONS),
  left_out = ProtoField.uint16("hopflow.left_out", "Bytes of payload left out"),
  sender = ProtoField.uint8("hopflow.sender", "Sender", base.DEC, SENDERS),
  body = ProtoField.bytes("hopflow.body", "Body"),
}
hopflow.fields = f

local unknown = ProtoExpert.new(
  "hopflow.unknown", "Unknown type of frame", expert.group.MALFORMED, expert.severity.ERROR)
local short = ProtoExpert.new(
  "hopflow.short", "Frame is cut off", expert.group.MALFORMED, expert.severity.ERROR)
local long = ProtoExpert.new(
  "hopflow.long", "Length exceeds the cell", expert.group.MALFORMED, expert.severity.ERROR)
hopflow.experts = { unknown, short, long }

-- Ports of what real nodes write of links by datagrams, and of links by TCP.
local BY_DATAGRAMS, BY_TCP = 60000, 60001
local PAYLOAD = 509
local HEADER = 11

-- What stands in place of a cell's payload that was left out: its length, the relay command and the length
-- of the data if they are known; and in place of a set-up message.
local LEFT_OUT = { [3] = 5, [14] = 2 }

-- The length of the frame at an offset; 0 if more bytes are needed to tell, nil of an unknown type.
local function frame_length(tvb, offset, datagram, left_out)
  local left = tvb:len() - offset
  if left < 3 then return 0 end
  local kind = tvb(offset + 2, 1):uint()
  local cell = (datagram and 8 or 3) + (left_out and LEFT_OUT[3] or PAYLOAD)
  if kind == 3 then return cell end
  if kind == 4 then return 4 end
  if kind == 13 then return 3 end
  if kind == 14 then return 3 + (left_out and LEFT_OUT[14] or PAYLOAD) end
  if kind == 12 or kind == 16 then
    if left < 4 then return 0 end
    local flags = tvb(offset + 3, 1):uint()
    if bit.band(flags, 0x40) ~= 0 then return cell end
    return (bit.band(flags, 0x80) ~= 0 and 14 or 12) + (kind == 16 and 12 or 0)
  end
  if kind == 15 then
    if left < 6 then return 0 end
    return 6 + tvb(offset + 4, 2):uint()
  end
  return nil
end

local function payload(tvb, tree)
  tree:add(f.stream, tvb(0, 2))
  tree:add(f.digest, tvb(2, 6))
  local length, command = tvb(8, 2):uint(), tvb(10, 1):uint()
  local length_item = tree:add(f.length, tvb(8, 2))
  tree:add(f.command, tvb(10, 1))
  local start = HEADER
  if NUMBERED[command] then
    tree:add(f.number, tvb(start, 4))
    start = start + 4
  end
  if length > PAYLOAD - start then
    length_item:add_proto_expert_info(long)
  elseif length > 0 then
    tree:add(f.data, tvb(start, length))
  end
  return COMMANDS[command] or "command " .. command
end

-- The same where only lengths were taken down; relays cannot read the command.
local function no_payload(tvb, tree)
  tree:add(f.left_out, tvb(0, 2))
  local command, length = tvb(2, 1):uint(), tvb(3, 2):uint()
  if command == 0 then return "" end
  tree:add(f.command, tvb(2, 1))
  tree:add(f.length, tvb(3, 2))
  return COMMANDS[command] or "command " .. command
end

-- Shows one frame, all of which is there; returns a short text for the list of packets.
local function frame(tvb, tree, datagram, left_out)
  local payload = left_out and no_payload or payload
  local kind = tvb(2, 1):uint()
  local item = tree:add(hopflow, tvb())
  item:set_text("hopflow " .. (TYPES[kind] or "frame") .. ", circuit " .. tvb(0, 2):uint())
  item:add(f.circuit, tvb(0, 2))
  item:add(f.type, tvb(2, 1))
  if kind == 3 then
    if not datagram then return "cell " .. payload(tvb(3):tvb(), item) end
    item:add(f.flags, tvb(3, 1))
    item:add(f.seq, tvb(4, 4))
    return "cell " .. tvb(4, 4):uint() .. " " .. payload(tvb(8):tvb(), item)
  elseif kind == 4 then
    item:add(f.reason, tvb(3, 1))
  elseif kind == 12 or kind == 16 then
    item:add(f.has_word, tvb(3, 1))
    item:add(f.padded, tvb(3, 1))
    item:add(f.out_of_order, tvb(3, 1))
    item:add(f.ack, tvb(4, 4))
    item:add(f.fwd, tvb(8, 4))
    local has_word = bit.band(tvb(3, 1):uint(), 0x80) ~= 0
    if has_word then item:add(f.word, tvb(12, 2)) end
    if kind == 16 then
      local ack, at = tvb(4, 4):uint(), has_word and 14 or 12
      for range = at, at + 8, 4 do
        local first, behind = tvb(range, 2):uint(), tvb(range + 2, 2):uint()
        if first < behind then
          item:add(f.arrived, tvb(range, 4), (ack + first) .. " to " .. (ack + behind - 1))
        end
      end
    end
    return "feedback ack " .. tvb(4, 4):uint() .. " fwd " .. tvb(8, 4):uint()
  elseif kind == 14 then
    item:add(left_out and f.left_out or f.body, tvb(3))
  elseif kind == 15 then
    item:add(f.sender, tvb(3, 1))
    if tvb:len() > 6 then item:add(f.body, tvb(6)) end
  end
  return TYPES[kind]
end

-- A datagram holds whole frames, of a link by datagrams or not, with payloads or without.
local function datagram(tvb, pinfo, tree, by_datagrams, left_out)
  pinfo.cols.protocol = "hopflow"
  local texts, offset = {}, 0
  while offset < tvb:len() do
    local length = frame_length(tvb, offset, by_datagrams, left_out)
    if length == nil or length == 0 or offset + length > tvb:len() then
      tree:add(hopflow, tvb(offset)):add_proto_expert_info(length == nil and unknown or short)
      break
    end
    texts[#texts + 1] = frame(tvb(offset, length):tvb(), tree, by_datagrams, left_out)
    offset = offset + length
  end
  pinfo.cols.info = table.concat(texts, ", ")
  return tvb:len()
end

-- On a stream frames follow each other, and segments cut them anywhere.
local function stream_length(tvb, _, offset)
  local length = frame_length(tvb, offset, false)
  -- What is unknown, or was not taken down, takes the rest: where the next frame begins is unknown, too.
  local rest = tvb:reported_len() - offset
  if length == 0 and tvb:len() < tvb:reported_len() then return rest end
  return length or rest
end

local function stream_frame(tvb, pinfo, tree)
  pinfo.cols.protocol = "hopflow"
  if tvb:len() < tvb:reported_len() then
    tree:add(hopflow, tvb()):set_text("hopflow, not all of it was taken down")
  elseif frame_length(tvb, 0, false) == nil then
    tree:add(hopflow, tvb()):add_proto_expert_info(unknown)
  else
    pinfo.cols.info:append(" " .. frame(tvb, tree, false))
  end
  return tvb:len()
end

function hopflow.dissector(tvb, pinfo, tree)
  if pinfo.port_type == 3 then
    local port = pinfo.dst_port
    return datagram(tvb, pinfo, tree, port ~= BY_TCP, port >= BY_DATAGRAMS)
  end
  dissect_tcp_pdus(tvb, tree, 3, stream_length, stream_frame)
  return tvb:len()
end

DissectorTable.get("udp.port"):add("20000-60001", hopflow)
DissectorTable.get("tcp.port"):add("20000-59999", hopflow)
