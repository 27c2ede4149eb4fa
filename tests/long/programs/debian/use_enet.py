# packages: python3-enet
import enet

host = enet.Host(enet.Address(b"127.0.0.1", 0), 4, 2, 0, 0)
packet = enet.Packet(b"data", enet.PACKET_FLAG_RELIABLE)
assert packet.data == b"data" and packet.dataLength == 4
assert host.address.port and host.service(0).type == enet.EVENT_TYPE_NONE
